import type { UseMutationResult } from "@tanstack/react-query";

/** What a form of this page sends. */
export type SignInBody =
  | { readonly email: string; readonly password: string; readonly account_id?: number }
  | { readonly link: string; readonly password?: string };

export type Choice = { readonly account_id: number; readonly name: string };

/** The one mutation of this page, which all of its forms share. */
export type SignIn = UseMutationResult<unknown, Error, SignInBody>;
