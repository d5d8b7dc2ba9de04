"""Anthropic's Messages API: requests read into what the service takes, replies written in Anthropic's form."""
