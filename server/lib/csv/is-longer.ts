/** Reports whether a text has more than `max` characters (code points), as the API's schemas count them. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && Array.from(text).length > max;
}
