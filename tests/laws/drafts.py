"""The first plan of what lies behind a door, frames included, which the command does not take."""

from dataclasses import replace

import pramble
from pramble.releasing.profile.survey import survey_file


def init(data, _):
    # how it was read differs by door
    survey = replace(survey_file(data), reading=pramble.Reading())
    return survey.draft(accepted={look.name for look in survey.profiles})
