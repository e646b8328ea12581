"""What a test asks of the doctor's results."""


def levels(said):
    return [each.level for each in said]


def says(said, level, text):
    return any(each.level == level and text in str(each) for each in said)
