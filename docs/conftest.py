"""What tests leave alone: pages of the gallery run when the pages are built."""

collect_ignore_glob = ["_build/*", "examples/*", "gallery/*", "generated/*"]
