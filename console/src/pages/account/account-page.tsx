import { Page } from '../../frame/page.tsx'
import { useSession } from '../../frame/session.ts'
import { texts } from '../../texts.ts'
import { Facts, Heading } from '../../ui/parts.tsx'

export function AccountPage() {
  const { name, rights, server } = useSession()
  return (
    <Page>
      <Heading text={texts.account.intro} />
      <Facts
        facts={[
          [texts.account.name, <span class="mono">{name}</span>],
          [texts.account.rights, texts.account.rightsOf[rights]],
          [texts.account.server, server],
        ]}
      />
    </Page>
  )
}
