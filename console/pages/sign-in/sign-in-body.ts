import type { UseMutationResult } from "@tanstack/react-query";
import type { Answer } from "../../api/answer.ts";

/** What a form of these pages sends. */
export type SignInBody =
  | {
      readonly email: string;
      readonly password: string;
      readonly account_id?: number;
      readonly code?: string;
    }
  | { readonly link: string; readonly password?: string; readonly code?: string }
  | { readonly link: string; readonly name: string; readonly password: string }
  /** The browser asks for it. */
  | { readonly passkey: true }
  /** What the identity provider answered, and then the account and the code. */
  | { readonly answer: string; readonly account_id?: number; readonly code?: string };

export type Choice = { readonly account_id: number; readonly name: string };

/** The one mutation of these pages, which all of their forms share. */
export type SignIn = UseMutationResult<Answer<"createSession">, Error, SignInBody>;
