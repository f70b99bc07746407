"""Row groups of what is written."""

from pramble.data.formats import arrow


def test_row_groups_have_one_size_by_the_number_of_columns():
    assert arrow.group_rows(1) == arrow.group_rows(16) == 1 << 20
    assert arrow.group_rows(17) == 1 << 19
    assert arrow.group_rows(64) == 1 << 18
    assert arrow.group_rows(65) == 1 << 17
