import { useEffect, useState } from 'preact/hooks'
import { api, instanceName } from '../api/client.ts'
import { useResource } from '../api/use-resource.ts'
import { navigate, toHref, useRoute } from '../router.ts'
import { shared } from '../texts.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Icon, Logo } from '../ui/icons.tsx'
import { Badge, Button, ButtonLink, Facts } from '../ui/parts.tsx'
import { PasswordProof } from '../ui/password-proof.tsx'
import { RecoveryCodes } from '../ui/recovery-codes.tsx'
import { Failure, Loading } from '../ui/states.tsx'
import { moveBetweenRows } from '../ui/table.tsx'
import { Toasts } from '../ui/toast.tsx'
import { useTitle } from '../ui/use-title.ts'
import { applyTheme, KEY, NEXT, readTheme, type Theme } from './apply-theme.ts'
import { useLiveStream } from './live.ts'
import { Navigation } from './navigation.tsx'
import { Page } from './page.tsx'
import type { PageRow } from './page-row.ts'
import { findCode, findPage, loadCode, pagesFor } from './page-table.ts'
import { Palette } from './palette.tsx'
import { mustActFirst, useSession } from './session.ts'
import { useShortcuts } from './shortcuts.ts'
import { texts } from './texts.ts'

/** What surrounds every page. */
export function Frame() {
  const session = useSession()
  const route = useRoute()
  const pages = pagesFor(session)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const page = findPage(pages, route)
  const isOffline = useLiveStream(session.rights === 'administrator' && !mustActFirst(session))
  const openPalette = () => setPaletteOpen(true)
  useShortcuts({
    '/': openPalette,
    'mod+k': openPalette,
    '?': () => setHelpOpen(true),
    j: () => moveBetweenRows(1),
    k: () => moveBetweenRows(-1),
    ...toJumps(pages),
  })
  const title = page ? page.title : texts.notFound
  useTitle(page && !page.hasIds ? route.path[1] : undefined, title)
  return (
    <div class="frame">
      <button class="skip" type="button" onClick={skipToContent}>
        {texts.skip}
      </button>
      <TopBar title={title} isOffline={isOffline} onFind={openPalette} onHelp={() => setHelpOpen(true)} />
      <Navigation pages={pages} current={page?.name} onHelp={() => setHelpOpen(true)} />
      {page ? <PageContent key={page.name} page={page} /> : <NotFound />}
      {isPaletteOpen && <Palette pages={pages} onClose={() => setPaletteOpen(false)} />}
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
      <PasswordProof />
      <RecoveryCodes />
      <Toasts />
    </div>
  )
}

/** The page itself, as soon as its code is there. After an upgrade of the server an open window may ask for old code. */
function PageContent({ page }: { readonly page: PageRow }) {
  const code = useResource(page.name, () => loadCode(page))
  const Content = findCode(page)
  if (Content) return <Content title={page.title} />
  return (
    <Page>
      {code.error === undefined ? (
        <Loading shape="rows" />
      ) : (
        <Failure what={page.title} error={new Error(shared.errors.unreachable)} onRetry={() => location.reload()} />
      )}
    </Page>
  )
}

const toJumps = (pages: readonly PageRow[]) =>
  Object.fromEntries(pages.map(({ name, key }) => [`g ${key}`, () => navigate(toHref([name]))]))

/** A link to `#content` would change the state of the page. */
const skipToContent = () => document.getElementById('content')?.focus()

interface TopBarProps {
  readonly title: string
  readonly isOffline: boolean
  readonly onFind: () => void
  readonly onHelp: () => void
}

function TopBar({ title, isOffline, onFind, onHelp }: TopBarProps) {
  const { name } = useSession()
  const [theme, nextTheme] = useTheme()
  return (
    <header>
      <a class="brand" href="#/">
        <Logo />
        <span>
          {shared.product}
          {instanceName && <span class="instance">{instanceName}</span>}
        </span>
      </a>
      <div class="topbar">
        <h1 class="where">{title}</h1>
        <span role="status">{isOffline && <Badge tone="warning">{texts.offline}</Badge>}</span>
        <button class="find" type="button" onClick={onFind} aria-label={texts.find}>
          <span>
            <Icon name="search" />
            <span class="hint">{texts.findShort}</span>
          </span>
          <kbd>/</kbd>
        </button>
        <span class="help">
          <Button kind="icon" onClick={onHelp} aria-label={texts.help} title={texts.help}>
            <Icon name="help" />
          </Button>
        </span>
        <Button kind="icon" onClick={nextTheme} aria-label={texts.themes[theme]} title={texts.themes[theme]}>
          <Icon name="theme" />
        </Button>
        <a class="me mono" href={toHref(['account'])} title={texts.account}>
          {name}
        </a>
        <ActionButton kind="icon" run={signOut} aria-label={texts.signOut} title={texts.signOut}>
          <Icon name="signOut" />
        </ActionButton>
      </div>
    </header>
  )
}

async function signOut(): Promise<void> {
  await api.delete('/session')
  location.assign('/_cardea/')
}

function NotFound() {
  const { rights } = useSession()
  return (
    <Page>
      <div class="state">
        <p>{texts.notFoundText}</p>
        {rights === 'user' ? (
          <ButtonLink href={toHref(['account'])}>{texts.toAccount}</ButtonLink>
        ) : (
          <ButtonLink href="#/">{rights === 'administrator' ? texts.toOverview : texts.toUsers}</ButtonLink>
        )}
      </div>
    </Page>
  )
}

function useTheme(): readonly [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => {
    localStorage.setItem(KEY, theme)
    applyTheme(theme)
  }, [theme])
  return [theme, () => setTheme((last) => NEXT[last])]
}

const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title={texts.shortcuts.title} kind="large" onClose={onClose}>
    <Facts facts={texts.shortcuts.rows.map(([keys, text]) => [keys, text])} />
    <div class="row end">
      <Button onClick={onClose}>{shared.actions.close}</Button>
    </div>
  </Dialog>
)
