// How much a campaign's body may bring. Apart from the schemas, which take long to load in a thread.

/** Recipients of one JSON body; files take more. */
export const contacts_max = 100_000;
/** Values that one recipient may bring. */
export const variables_max = 1_000;
