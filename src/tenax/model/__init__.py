"""What things are: definitions, outcomes, decisions, events, the words on the wire. Pure data, no decisions."""
