"""
Plans that show some columns
============================

A plan has *branches*. Each has a share, the probability that a record goes through it, and
*blocks*: columns that are randomised together by one matrix. Columns of no block are left blank.
Which branch a record takes does not depend on its values, so the blanks tell nothing.
"""

import pramble

columns = {"sex": ["f", "m"], "age": 5, "region": 6, "work": ["yes", "no"]}
d = pramble.design_record(columns, alpha=2.0, tables=2, time_limit=1.0)
print(d)

# %%
# The last column of the table is half of the 95 % interval of a typical cell's share, in percentage
# points, if 10,000 records are released.
#
# In the picture a row is a branch. The bar is its share of the records; columns that it shows
# have a square, and a line joins those that are randomised together.

figure = d.plan.plot()
