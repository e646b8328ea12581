"""The texts of the demo's web: an almanac of lighthouses, bridges and teas, as plain data."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One page of the almanac: `name` is its path, `text` its content."""

    name: str
    title: str
    text: str


LIGHTHOUSES = (
    Entry("pharos", "Pharos of Alexandria", "Built on an island off Egypt about 280 BC; its name still means lamp."),
    Entry("hercules", "Tower of Hercules", "Romans built it at A Coruña, and it still shows a light to ships."),
    Entry("hook", "Hook Head", "Monks kept this Irish light before anybody was paid to do it."),
    Entry("cordouan", "Cordouan", "A lighthouse with a chapel, standing in the sea before the Gironde."),
    Entry("eddystone", "Eddystone", "Four towers have stood here; a storm took the first with its builder inside."),
    Entry("bell-rock", "Bell Rock", "It stands on a reef that every high tide covers."),
    Entry("skerryvore", "Skerryvore", "Alan Stevenson's tower on a rock south-west of Tiree."),
    Entry("boston", "Boston Light", "The first light station of what became the United States, lit in 1716."),
    Entry("sandy-hook", "Sandy Hook", "Built in 1764 and still the original tower."),
    Entry("fresnel", "The Fresnel lens", "Rings of glass around a lamp: a small flame is seen to the horizon."),
    Entry("ar-men", "Ar-Men", "It took fourteen years to build; in the first, men could land for a few hours only."),
    Entry("fastnet", "Fastnet Rock", "The last of Ireland that emigrants saw, hence its name, the teardrop."),
    Entry("lindau", "Lindau", "A lighthouse on a lake, with a clock in its side."),
    Entry("kopu", "Kõpu", "An Estonian hill with a light on it, burning wood for its first centuries."),
    Entry("hornby", "Hornby Light", "Red and white stripes at the entrance of Sydney's harbour."),
    Entry("cape-byron", "Cape Byron", "The easternmost light of the Australian mainland."),
    Entry("les-eclaireurs", "Les Eclaireurs", "Near Ushuaia, photographed by everybody who passes."),
    Entry("split-rock", "Split Rock", "Built on a cliff of Lake Superior after a single November storm."),
    Entry("peggys-cove", "Peggy's Cove", "White tower, red lantern, bare granite."),
    Entry("keeper", "A keeper's day", "Wind the clockwork, trim the wick, polish the brass, write the log."),
)

BRIDGES = (
    Entry("iron-bridge", "The Iron Bridge", "The first large bridge of cast iron, joined like carpentry, 1779."),
    Entry("pont-du-gard", "Pont du Gard", "Three rows of arches that carried water to Nîmes."),
    Entry("forth", "Forth Bridge", "Painting it was a proverb for work without end, until a better paint came."),
    Entry("brooklyn", "Brooklyn Bridge", "Emily Roebling saw to its completion when her husband could not."),
    Entry("golden-gate", "Golden Gate", "The colour is called international orange and was meant as a primer."),
    Entry("charles", "Charles Bridge", "Sixteen arches over the Vltava, with saints along both sides."),
    Entry("rialto", "Rialto", "One arch of stone, and shops on top of it."),
    Entry("stari-most", "Stari Most", "Shot down in 1993, rebuilt from the same quarry's stone by 2004."),
    Entry(
        "zhaozhou", "Zhaozhou Bridge", "Open spandrels some fourteen centuries old: lighter, and floods pass through."
    ),
    Entry("kintai", "Kintai-kyō", "Five wooden arches at Iwakuni, renewed by carpenters every few decades."),
    Entry("millau", "Viaduc de Millau", "Its highest mast stands more than three hundred metres above the Tarn."),
    Entry("oresund", "Øresund", "A bridge that dives into a tunnel at an island made for the purpose."),
    Entry("tower", "Tower Bridge", "Ships have the right of way; road traffic waits."),
    Entry("clifton", "Clifton Suspension Bridge", "Brunel's, finished by his friends after his death."),
    Entry("tacoma", "Tacoma Narrows", "It twisted in a steady wind in 1940 and taught engineers about flutter."),
    Entry(
        "konigsberg", "The bridges of Königsberg", "Seven, and no walk crosses each once: so Euler began graph theory."
    ),
    Entry("root", "Living root bridges", "Grown, not built, from fig trees in Meghalaya."),
    Entry("qeswachaka", "Q'eswachaka", "Woven of grass, and woven again each June."),
    Entry("falkirk", "The Falkirk Wheel", "Two tubs of water in balance lift boats between canals."),
    Entry("hangzhou-bay", "Hangzhou Bay Bridge", "Thirty-six kilometres, with a bend to keep drivers awake."),
)

TEAS = (  # in Japanese; served in Shift_JIS
    Entry("sencha", "煎茶", "蒸して揉んだ、いちばんよく飲まれる緑茶です。"),
    Entry("gyokuro", "玉露", "摘む前に日光をさえぎって育てます。ぬるい湯でいれます。"),
    Entry("matcha", "抹茶", "石臼で挽いた茶を、茶筅で点てて飲みます。"),
    Entry("hojicha", "ほうじ茶", "強火で焙じた香ばしいお茶です。"),
    Entry("genmaicha", "玄米茶", "炒った米を混ぜたお茶で、食事によく合います。"),
    Entry("bancha", "番茶", "遅く摘んだ葉でつくる、ふだんのお茶です。"),
    Entry("kukicha", "茎茶", "葉ではなく茎を使います。青い香りがします。"),
    Entry("tamaryokucha", "玉緑茶", "葉が丸く巻いた、九州のお茶です。"),
    Entry("kamairicha", "釜炒り茶", "蒸さずに釜で炒るので、すっきりしています。"),
    Entry("wakocha", "和紅茶", "日本で育てて日本でつくる紅茶です。"),
)

CHINESE_TEAS = (  # in Chinese; served in GBK
    Entry("longjing", "龙井", "产于杭州西湖一带，叶片扁平，炒制而成。"),
    Entry("biluochun", "碧螺春", "产于太湖洞庭山，叶卷如螺。"),
    Entry("tieguanyin", "铁观音", "福建安溪的乌龙茶，香气似兰花。"),
    Entry("dahongpao", "大红袍", "武夷山的岩茶，母树长在崖壁上。"),
    Entry("puer", "普洱", "云南的茶，压成饼，可以存放多年。"),
    Entry("baihao", "白毫银针", "只用茶芽，晒干而成的白茶。"),
    Entry("junshan", "君山银针", "洞庭湖小岛上的黄茶，冲泡时茶芽直立。"),
    Entry("qimen", "祁门红茶", "安徽的红茶，有果香。"),
    Entry("liubao", "六堡茶", "广西的黑茶，装在竹篓里陈化。"),
    Entry("molihua", "茉莉花茶", "绿茶与茉莉花一层一层窨制。"),
)
