"""What is said of a release: its HTML pages, and the same in the terminal and the app."""
