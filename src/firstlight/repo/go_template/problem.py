"""What goes wrong in a template."""


class TemplateError(ValueError):
    """A template that cannot be rendered: it is wrong, or asks for what reading alone cannot tell."""

    def __init__(self, reason: str, *, line: int = 0, name: str = "") -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.reason = reason
        self.line = line
        """In the template, from 1; 0 where it is not known."""
        self.name = name
        """The function, field or variable that is not known, as it is written."""

    def at(self, line: int) -> "TemplateError":
        """The same error with a line, unless it has one."""
        return self if self.line else TemplateError(self.reason, line=line, name=self.name)


class NotKnown(TemplateError):
    """The template may be right; what it asks for is only known when something runs."""

    def at(self, line: int) -> "NotKnown":
        """The same error with a line, unless it has one."""
        return self if self.line else NotKnown(self.reason, line=line, name=self.name)


class TooMuch(TemplateError):
    """A template that would never end, or fill the memory; it is given up, also where others would go on."""

    def at(self, line: int) -> "TooMuch":
        """The same error with a line, unless it has one."""
        return self if self.line else TooMuch(self.reason, line=line, name=self.name)
