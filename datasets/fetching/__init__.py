"""Files from elsewhere to a local folder: resumable, verified, and not called done while anything is missing."""
