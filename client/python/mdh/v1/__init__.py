"""Messages of the wire format mdh.v1, generated from proto/."""
