"""Where labels stand: by type and value, else by their text."""

from pramble.data.labels import place_of, places_of


def test_booleans_and_integers_stay_apart():
    assert place_of([1, 2], True) is None
    assert place_of([True, False], True) == 0
    assert place_of(["1", "2"], 2) == 1
    assert place_of([1, 2], "2") == 1


def test_texts_of_a_file_stand_for_labels():
    assert places_of([False, True, None], ["true", "FALSE", None, "None"]) == [1, 0, 2, None]
    assert places_of([1, "1"], ["1", 1, 2]) == [1, 0, None]
    assert places_of([True, "true"], ["true", "TRUE", "True"]) == [1, 0, 0]


def test_a_text_that_stands_for_two_labels_stands_for_none():
    assert places_of([True, "TRUE", "x"], ["TRUE", "True"]) == [1, 0]
    assert places_of([7, "7", True], [7.0]) == [None]
