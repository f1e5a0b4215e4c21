"""The parts of the HTML report; `profiles.exports.html` puts them together."""
