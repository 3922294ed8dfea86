// New recovery codes stay on the screen until the user confirms that they are kept, whatever page is opened meanwhile.
import { useEffect, useState } from 'preact/hooks'
import { useSession } from '../frame/session.ts'
import { shared } from '../texts.ts'
import { Button } from './parts.tsx'
import { saveFile } from './save-file.ts'
import { ShownOnce } from './shown-once.tsx'

type Codes = readonly string[]

let show = (_codes: Codes) => {}

export const showRecoveryCodes = (codes: Codes): void => show(codes)

/** Browsers ask before they leave the page. */
const warn = (event: Event) => event.preventDefault()

export function RecoveryCodes() {
  const { name } = useSession()
  const [codes, setCodes] = useState<Codes>()
  useEffect(() => {
    show = setCodes
  }, [])
  useEffect(() => {
    if (!codes) return
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [codes])
  if (!codes) return null
  const text = codes.join('\n')
  const heading = shared.recoveryCodes.codesOf(name, location.host)
  const save = () => saveFile('cardea-recovery-codes.txt', `${heading}\n\n${text}\n`, 'text/plain')
  return (
    <ShownOnce
      title={shared.recoveryCodes.codes}
      value={text}
      action={shared.recoveryCodes.kept}
      onClose={() => setCodes(undefined)}
      actions={
        <>
          <Button onClick={save}>{shared.actions.download}</Button>
          <Button onClick={() => print()}>{shared.actions.print}</Button>
        </>
      }
    >
      <p>{shared.recoveryCodes.codesText}</p>
      <p class="only-print">{heading}</p>
    </ShownOnce>
  )
}
