"""The rules, by subject: each looks at the scene and says what is wrong."""
