// Apart from the schemas, which take long to load in a thread.

/** How many rejected rows an answer lists; it counts the others. */
export const rejects_told_max = 100;
/** Characters of a member's name. */
export const member_name_characters_max = 255;
/** Characters of one variable's value. */
export const variable_characters_max = 4_096;
