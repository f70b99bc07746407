"""One look for every figure and page: style, images, and the shell of a self-contained page."""
