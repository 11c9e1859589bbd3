"""Records of the formats that datasets come in, streamed, in bounded memory, from input that is not trusted."""
