"""hloscope: from an XLA dump and a log to what happened, where and why."""
