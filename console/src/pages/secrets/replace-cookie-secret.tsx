import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { notify } from '../../ui/toast.tsx'

export function ReplaceCookieSecret({ onDone }: { readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const [isImmediate, setImmediate] = useState(false)
  const replace = async () => {
    await api.post('/secrets/replacement', { now: isImmediate })
    setOpen(false)
    notify(texts.secrets.replaced)
    onDone()
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{texts.secrets.replaceTitle}</Button>
      {isOpen && (
        <FormDialog
          title={texts.secrets.replaceTitle}
          action={texts.secrets.replaceTitle}
          isDanger={isImmediate}
          onClose={() => setOpen(false)}
          onSubmit={replace}
        >
          <p>{isImmediate ? texts.secrets.replaceNow : texts.secrets.replaceText}</p>
          <CheckField label={texts.secrets.immediately} isChecked={isImmediate} onChange={setImmediate} />
        </FormDialog>
      )}
    </>
  )
}
