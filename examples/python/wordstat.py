"""Counts the words of a text, in two ways."""

import collections
import re

WORD = re.compile(r"[a-z]+")


def count_regex(text):
    """One regular expression over the whole text."""
    return collections.Counter(WORD.findall(text.lower()))


def count_split(text):
    """Split at white space, then strip what is not a letter."""
    counts = collections.Counter()
    for token in text.lower().split():
        word = token.strip(".,;:!?()\"'")
        if word.isalpha():
            counts[word] += 1
    return counts


IMPLEMENTATIONS = {"regex": count_regex, "split": count_split}


def text(words):
    """The same text for the same number of words."""
    vocabulary = ["sort", "merge", "heap", "queue", "cache", "branch", "cycle", "page"]
    return " ".join(f"{vocabulary[(i * i) % len(vocabulary)]}{',' if i % 7 == 0 else ''}" for i in range(words))
