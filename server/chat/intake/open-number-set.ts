/** Remembers phone numbers: true for one that it has not seen. */
export type NumberSet = { add(digits: string): boolean };

/** The most digits that a number in JavaScript holds exactly, whatever they are. */
const exact_digits = 15;

/** Digits as numbers take a third of the memory that they take as text. */
export function openNumberSet(): NumberSet {
  const numbers = new Set<number>();
  const longer = new Set<string>();
  return {
    add(digits) {
      if (digits.length > exact_digits) return longer.size !== longer.add(digits).size;
      return numbers.size !== numbers.add(Number(digits)).size;
    },
  };
}
