import { useState } from 'preact/hooks'
import { type AccountView, api } from '../../api/client.ts'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Badge, Button } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { showRecoveryCodes } from '../../ui/recovery-codes.tsx'
import { texts } from './texts.ts'

interface Enrolment {
  readonly secret: string
  readonly uri: string
}

interface Codes {
  readonly recoveryCodes: readonly string[]
}

export function SecondFactor({ account, onChange }: Readonly<{ account: AccountView; onChange: () => void }>) {
  const { needsPasskey, totp: state } = account
  const { query } = useRoute()
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const begin = () => withPassword((proof) => api.post<Enrolment>('/account/totp', proof)).then(setEnrolment)
  const finish = (recoveryCodes: readonly string[]) => {
    setEnrolment(undefined)
    showRecoveryCodes(recoveryCodes)
    closeDialog()
    onChange()
  }
  return (
    <div class="inside stack">
      {needsPasskey && <ByPasskey codesLeft={state.recoveryCodesLeft} />}
      {state.isEnabled ? <Enabled codesLeft={state.recoveryCodesLeft} /> : <Disabled onBegin={begin} />}
      {enrolment && <Enrol enrolment={enrolment} onClose={() => setEnrolment(undefined)} onDone={finish} />}
      {query['do'] === 'new-codes' && <ReplaceCodes onDone={finish} />}
      {query['do'] === 'remove-totp' && <Remove onChange={onChange} />}
    </div>
  )
}

const FEW_CODES = 3

const CodesLeft = ({ count }: { readonly count: number }) => (
  <Badge tone={count < FEW_CODES ? 'warning' : undefined}>{texts.totp.codesLeft(count)}</Badge>
)

const ByPasskey = ({ codesLeft }: { readonly codesLeft: number }) => (
  <>
    <div class="row">
      <Badge tone="success">{texts.totp.byPasskey}</Badge>
      <CodesLeft count={codesLeft} />
    </div>
    <div class="row">
      <Button onClick={() => openDialog('new-codes')}>
        {codesLeft === 0 ? texts.totp.firstCodes : texts.totp.newCodes}
      </Button>
    </div>
  </>
)

const Enabled = ({ codesLeft }: { readonly codesLeft: number }) => (
  <>
    <div class="row">
      <Badge tone="success">{texts.totp.on}</Badge>
      <CodesLeft count={codesLeft} />
    </div>
    <div class="row">
      <Button onClick={() => openDialog('new-codes')}>{texts.totp.newCodes}</Button>
      <Button kind="danger" onClick={() => openDialog('remove-totp')}>
        {texts.totp.remove}
      </Button>
    </div>
  </>
)

const Disabled = ({ onBegin }: { readonly onBegin: () => Promise<void> }) => (
  <>
    <p class="quiet">{texts.totp.text}</p>
    <div class="row">
      <ActionButton kind="primary" run={onBegin}>
        {texts.totp.setUp}
      </ActionButton>
    </div>
  </>
)

interface EnrolProps {
  readonly enrolment: Enrolment
  readonly onClose: () => void
  readonly onDone: (codes: readonly string[]) => void
}

function Enrol({ enrolment: { secret, uri }, onClose, onDone }: EnrolProps) {
  const [code, setCode] = useState('')
  const confirm = async () => {
    const body = { secret, code: code.trim() }
    const { recoveryCodes } = await withPassword((proof) =>
      api.post<Codes>('/account/totp/confirm', { ...body, ...proof }),
    )
    onDone(recoveryCodes)
  }
  return (
    <FormDialog
      title={texts.totp.setUp}
      action={texts.totp.turnOn}
      isReady={code.trim() !== ''}
      onClose={onClose}
      onSubmit={confirm}
    >
      <p>{texts.totp.scan}</p>
      <QrCode label={texts.totp.qrCode} text={uri} />
      <p class="quiet small">
        {texts.totp.orType} <code>{secret}</code>
      </p>
      <TextField
        label={texts.totp.code}
        isMono
        autoComplete="one-time-code"
        spellcheck={false}
        value={code}
        onValue={setCode}
      />
    </FormDialog>
  )
}

function ReplaceCodes({ onDone }: { readonly onDone: (codes: readonly string[]) => void }) {
  const run = async () => {
    const { recoveryCodes } = await withPassword((proof) => api.post<Codes>('/account/recovery-codes', proof))
    onDone(recoveryCodes)
  }
  return (
    <FormDialog title={texts.totp.newCodes} action={texts.totp.newCodes} onClose={closeDialog} onSubmit={run}>
      <p>{texts.totp.newCodesText}</p>
    </FormDialog>
  )
}

const Remove = ({ onChange }: { readonly onChange: () => void }) => (
  <ConfirmDialog
    label={texts.totp.remove}
    effect={texts.totp.removeText}
    isDanger
    run={(proof) => api.delete('/account/totp', proof)}
    done={() => texts.totp.removed}
    onDone={onChange}
  />
)
