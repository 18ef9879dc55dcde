"""The world as gates and actions see it: watches shared by all who look, questions asked, machines polled."""
