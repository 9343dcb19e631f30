// How much a campaign may bring. Apart from the schemas, which take long to load in a thread.

/** Recipients of one campaign, whichever way they come. */
export const recipients_max = 1_000_000;
/** Rows left out that are listed, of each kind: those with something wrong, and duplicates. */
export const rejects_listed_max = 100_000;
/** Recipients that are stored in one statement, beside other writes. */
export const small_recipients_max = 5_000;
