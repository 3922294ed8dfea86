import { texts } from '../texts.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Facts } from '../ui/parts.tsx'

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title={texts.help.title} kind="large" onClose={onClose}>
    <Facts facts={texts.help.rows.map(([keys, text]) => [keys, text])} />
    <div class="row end">
      <Button onClick={onClose}>{texts.actions.close}</Button>
    </div>
  </Dialog>
)
