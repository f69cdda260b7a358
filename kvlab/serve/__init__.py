"""Serving a real model on paged memory."""
