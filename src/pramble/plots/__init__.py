"""Every plot, in one look: style, images, the shell of a page, and the charts."""
