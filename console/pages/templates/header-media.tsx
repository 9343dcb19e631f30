import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { numbersQuery, type Template } from "../../api/chat.ts";
import { setHeaderMedia } from "../../api/templates.ts";
import { FileButton } from "../../ui/file-button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { useMay } from "../../ui/permission.ts";

const accepted: Readonly<Record<string, string>> = {
  IMAGE: "image/jpeg,image/png",
  VIDEO: "video/mp4",
  DOCUMENT: "application/pdf",
};

/** The picture, video or document above a template's text, if it has one. */
export function HeaderMedia({ template }: { readonly template: Template }) {
  const { id, business_account_id, components, header_media } = template;
  const may = useMay("chat.manage");
  const { data: numbers = [] } = useQuery(numbersQuery);
  const [percent, setPercent] = useState(0);
  const number = numbers.find((one) => one.business_account_id === business_account_id);
  const send = useMutation({
    mutationFn: (file: File) => setHeaderMedia(id, number!.id, file, setPercent),
  });
  const header = components.find(({ type }) => type === "HEADER") as
    | { readonly format?: string }
    | undefined;
  const types = accepted[header?.format ?? ""];
  if (types === undefined) return null;
  return (
    <Panel title="File above the text">
      <p>
        {header_media === null
          ? "There is none yet. Campaigns can use the template once it has one."
          : "It is sent with each message. WhatsApp deletes an uploaded file after 30 days."}
      </p>
      {may && number && (
        <FileButton
          label={header_media === null ? "Choose it" : "Replace it"}
          accept={types}
          disabled={send.isPending}
          onChoose={send.mutate}
        />
      )}
      {send.isPending && <ProgressBar label="Upload" percent={percent} />}
      <FormError error={send.error} />
    </Panel>
  );
}
