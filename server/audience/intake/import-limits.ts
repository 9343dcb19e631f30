// Limits of imports. Separate from the schemas, which load slowly in a thread.

/** Most rejected rows that a response lists; it counts all of them. */
export const rejects_listed_max = 100;
/** Characters of a member's name. */
export const member_name_characters_max = 255;
/** Characters of one variable's value. */
export const variable_characters_max = 4_096;
