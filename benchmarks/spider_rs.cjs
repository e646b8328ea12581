// The crawl as a user of spider-rs for Node.js would write it; it stores bodies only..
//
//     node spider_rs.cjs HOME OUT SEED PAGES      HOME: where npm installed it; PAGES 0: no limit
//
// How many requests it has at a time is its own matter: the package has no option for it.
const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')

const [home, out, seed, pages] = process.argv.slice(2)
const { Website } = require(path.join(home, 'node_modules', '@spider-rs', 'spider-rs'))

async function main() {
  fs.mkdirSync(out, { recursive: true })
  const website = new Website(seed, true).withRespectRobotsTxt(true)
  if (Number(pages)) website.withBudget({ '*': Number(pages) })
  let seen = 0
  await website.build().crawl((_error, page) => {
    seen += 1
    if (page.statusCode !== 200) return
    const key = crypto.createHash('sha224').update(page.url).digest('hex').slice(0, 24)
    fs.writeFileSync(path.join(out, `${key}.html`), page.rawContent)
  })
  // the last pages may still be on their way to the function above; its subscription keeps the process alive for ever
  for (let turns = 0; seen < website.size && turns < 1000; turns++) await new Promise((next) => setTimeout(next, 5))
  process.exit(0)
}

main()
