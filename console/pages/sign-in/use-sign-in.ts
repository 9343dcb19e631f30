import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, body } from "../../api/client.ts";
import { meQuery } from "../../api/me.ts";
import { signWithPasskey } from "../../api/passkeys.ts";
import { queryClient } from "../../api/query-client.ts";
import { reportSignIn } from "../../api/session-changes.ts";
import type { SignIn, SignInBody } from "./sign-in-body.ts";

/** Signs in, and opens a page of the console once that is complete. */
export function useSignIn(to: string): SignIn {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (json: SignInBody) => body(send(json)),
    onSuccess: async ({ signed_in }) => {
      if (!signed_in) return;
      queryClient.clear();
      reportSignIn();
      await queryClient.query({ ...meQuery, staleTime: "static" });
      await navigate({ href: to, replace: true });
    },
  });
}

async function send(json: SignInBody) {
  if ("passkey" in json)
    return api.POST("/api/v1/session/passkey", { body: { response: await signWithPasskey() } });
  if ("answer" in json) {
    const { answer, ...next } = json;
    // The answer is taken once; the account and the code follow it.
    const body_sent = Object.keys(next).length === 0 ? { answer } : next;
    return api.POST("/api/v1/session/oidc/answer", { body: body_sent });
  }
  if (!("link" in json)) return api.POST("/api/v1/session", { body: json });
  if ("name" in json) return api.POST("/api/v1/session/invitation", { body: json });
  return api.POST("/api/v1/session/link", { body: json });
}

/** Returns the secret that follows `#`, which no server log shows, and takes it out of the address bar and the history. */
export function useLinkSecret(): string {
  const [link] = useState(() => location.hash.slice(1));
  useEffect(() => {
    if (link !== "") history.replaceState(history.state, "", location.pathname);
  }, [link]);
  return link;
}
