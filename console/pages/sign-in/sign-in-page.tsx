import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client.ts";
import { meQuery } from "../../api/me.ts";
import { queryClient } from "../../api/query-client.ts";
import { Heading } from "../../ui/heading.tsx";
import { Logo } from "../../ui/logo.tsx";
import { AccountChoice } from "./account-choice.tsx";
import { LinkForm } from "./link-form.tsx";
import { PasswordForm } from "./password-form.tsx";
import type { SignInBody } from "./sign-in-body.ts";

const route = getRouteApi("/sign-in");

/** Signs in with a password, or with a link whose secret follows `#` and never reaches a server log. */
export function SignInPage() {
  const { to = "/" } = route.useSearch();
  const navigate = useNavigate();
  const [link] = useState(() => location.hash.slice(1));
  const signIn = useMutation({
    mutationFn: (json: SignInBody) =>
      body(
        "link" in json
          ? api.POST("/api/v1/session/link", { body: json })
          : api.POST("/api/v1/session", { body: json }),
      ),
    onSuccess: async ({ signed_in }) => {
      if (!signed_in) return;
      queryClient.clear();
      await queryClient.query({ ...meQuery, staleTime: "static" });
      await navigate({ href: to, replace: true });
    },
  });
  const choices = signIn.data?.signed_in === false ? signIn.data.choices : null;
  return (
    <main className="flex min-h-screen items-center justify-center p-6">
      <div className="border-line bg-panel flex w-full max-w-sm flex-col gap-6 rounded-2xl border p-8 shadow-sm">
        <div className="flex items-center gap-3">
          <Logo />
          <span className="text-base font-semibold">Trunkline</span>
        </div>
        <Heading>{choices ? "Choose an account" : link ? "Welcome" : "Sign in"}</Heading>
        {choices ? (
          <AccountChoice choices={choices} signIn={signIn} />
        ) : link ? (
          <LinkForm link={link} signIn={signIn} />
        ) : (
          <PasswordForm signIn={signIn} />
        )}
      </div>
    </main>
  );
}
