import { notFound } from "@tanstack/react-router";

/** The id of what a page shows. */
export const idParam = {
  parse: ({ id }: { id: string }) => {
    if (!/^[1-9]\d{0,14}$/.test(id))
      // oxlint-disable-next-line only-throw-error -- The router's own way.
      throw notFound();
    return { id: Number(id) };
  },
  stringify: ({ id }: { id: number }) => ({ id: String(id) }),
};
