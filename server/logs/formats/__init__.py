"""One module per way of writing metrics. Console readers look at single lines; the others read a whole document."""
