import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";

/** Tells what was done, from anywhere: `toasts.add({ title })`. */
export const toasts = Toast.createToastManager();

/** The corner in which the messages appear. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={toasts}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-10 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  return Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="border-line bg-panel flex items-start gap-3 rounded-xl border p-4 shadow-lg transition data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0"
    >
      <div className="min-w-0 flex-1">
        <Toast.Title className="font-medium" />
        <Toast.Description className="text-muted" />
      </div>
      <Toast.Close aria-label="Dismiss" className="hover:bg-hover -m-1 rounded-lg p-1">
        <X aria-hidden className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ));
}
