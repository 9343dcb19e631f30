import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { voiceFilesQuery, type VoiceFile } from "../../../api/voice.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { DataTable, type Column } from "../../../ui/data-table.tsx";
import { EmptyState } from "../../../ui/empty-state.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { formatDuration } from "../../../ui/numbers.ts";
import { Page } from "../../../ui/page.tsx";
import { useMay } from "../../../ui/permission.ts";
import { Time } from "../../../ui/time.tsx";
import { FileStatus } from "./file-status.tsx";
import { usesOf } from "./file-words.ts";

const columns: readonly Column<VoiceFile>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        to="/voice/files/$id"
        params={{ id }}
        className="wrap-anywhere after:absolute after:inset-0 hover:underline"
      >
        {name}
      </Link>
    ),
  },
  { header: "State", cell: (file) => <FileStatus file={file} /> },
  { header: "Has", wide: true, cell: usesOf },
  {
    header: "Length",
    numeric: true,
    wide: true,
    cell: ({ duration_ms }) => (duration_ms === null ? "–" : formatDuration(duration_ms)),
  },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** What voice campaigns play and say. */
export function FilesPage() {
  const { data: files, error, isPending } = useQuery(voiceFilesQuery);
  return (
    <Page
      title="Audio & scripts"
      text="What people hear: recordings, scripts with their own values, menus and AI agents."
      actions={<NewContent />}
    >
      <FormError error={error} />
      {files?.length === 0 ? (
        <EmptyState
          title="Nothing to play yet"
          text="Upload or record a message, or write a script with each person's own values."
        >
          <NewContent />
        </EmptyState>
      ) : (
        <DataTable
          label="Audio and scripts"
          columns={columns}
          rows={files ?? []}
          loading={isPending}
          loadMore={undefined}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

function NewContent() {
  if (!useMay("voice.content.manage")) return null;
  return (
    <Link to="/voice/files/new" className={buttonClass("primary")}>
      New content
    </Link>
  );
}
