"""Pages of crawls as documents: WARC and ARC records, main content, Markdown."""
