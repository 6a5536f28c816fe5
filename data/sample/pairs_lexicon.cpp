// Rules that keep the German unambiguous (tests/data/test_sample_pairs.cpp): a noun's plural
// differs from its singular, no form is in two classes, and verbs that share their finite form have
// different prefixes, which decide at the end of the clause.
#include "data/sample/pairs_lexicon.h"

#include <array>

#include "data/sample/lexicon.h"

namespace nine::pairs {

namespace {

/// Each entry's words; entries are separated by commas.
std::vector<Words> entries(std::string_view text) {
  std::vector<Words> all;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    all.push_back(words_of(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return all;
}

std::string with_dative_n(const std::string& plural) {
  return plural.ends_with('n') || plural.ends_with('s') ? plural : plural + "n";
}

/// "die maus mäuse mouse mice"; + before the English of a head.
Noun noun_of(const Words& w) {
  const bool head = w[3][0] == '+';
  const std::string english = w[3].substr(head ? 1 : 0);
  const Gender gender = w[0] == "der"   ? Gender::masculine
                        : w[0] == "die" ? Gender::feminine
                                        : Gender::neuter;
  return {gender, w[1], w[2], with_dative_n(w[2]), english, w.size() > 4 ? w[4] : with_s(english),
          head};
}

/// "auf|machen macht gemacht open opened"; * before a verb with sein.
Verb verb_of(const Words& w) {
  const bool with_sein = w[0][0] == '*';
  const std::string german = w[0].substr(with_sein ? 1 : 0);
  const size_t bar = german.find('|');
  const std::string prefix = bar == std::string::npos ? "" : german.substr(0, bar);
  return {prefix,       german.substr(bar == std::string::npos ? 0 : bar + 1),
          w[1],         prefix + w[2],
          with_sein,    w[3],
          with_s(w[3]), w[4]};
}

std::string_view noun_entries(NounKind kind) {
  switch (kind) {
    case NounKind::person:
      return "der mann männer man men,die frau frauen woman women,das kind kinder child "
             "children,der arzt ärzte doctor,"
             "die lehrerin lehrerinnen teacher,der freund freunde friend,die schwester schwestern "
             "sister,der bruder brüder brother,"
             "der koch köche cook,die königin königinnen queen,der könig könige king,die tochter "
             "töchter daughter,der sohn söhne son,"
             "die tante tanten aunt,das baby babys baby,der gast gäste guest,die sängerin "
             "sängerinnen singer,der dieb diebe thief thieves,"
             "die malerin malerinnen artist,der wirt wirte innkeeper";
    case NounKind::animal:
      return "der hund hunde +dog,die katze katzen +cat,das pferd pferde horse,der vogel vögel "
             "+bird,die kuh kühe cow,"
             "die maus mäuse +mouse mice,das huhn hühner hen,der fuchs füchse fox,der wolf wölfe "
             "wolf wolves,die ente enten +duck,"
             "der frosch frösche frog,die ziege ziegen +goat,das schwein schweine pig,die eule "
             "eulen owl";
    case NounKind::thing:
      return "das buch bücher +book,die tür türen +door,das bild bilder picture,der brief briefe "
             "letter,der tisch tische +table,"
             "die lampe lampen +lamp,das fahrrad fahrräder bicycle,der stuhl stühle +chair,die uhr "
             "uhren +clock,das ei eier egg,"
             "der apfel äpfel apple,die tasche taschen +bag,das boot boote +boat,der hut hüte "
             "+hat,die flasche flaschen bottle,"
             "das kleid kleider +dress,der korb körbe +basket,die orange orangen orange,der ball "
             "bälle ball,der schirm schirme umbrella";
    case NounKind::place:
      return "der garten gärten garden,das haus häuser +house,die schule schulen school,die küche "
             "küchen kitchen,der park parks park,"
             "die stadt städte city,das dorf dörfer village,der wald wälder forest,die kirche "
             "kirchen +church,der markt märkte +market,"
             "das feld felder field,die brücke brücken +bridge,das tal täler valley,der hof höfe "
             "yard,die insel inseln island";
  }
  return {};
}

std::string_view verb_entries(VerbKind kind) {
  switch (kind) {
    case VerbKind::intransitive:
      return "schlafen schläft geschlafen sleep slept,lachen lacht gelacht laugh laughed,*kommen "
             "kommt gekommen come came,"
             "warten wartet gewartet wait waited,*an|kommen kommt gekommen arrive arrived,arbeiten "
             "arbeitet gearbeitet work worked,"
             "*auf|stehen steht gestanden rise rose,singen singt gesungen sing sang,*laufen läuft "
             "gelaufen run ran,"
             "zu|hören hört gehört listen listened,stehen steht gestanden stand stood,*weg|laufen "
             "läuft gelaufen flee fled,"
             "tanzen tanzt getanzt dance danced,auf|hören hört gehört stop stopped,*verschwinden "
             "verschwindet verschwunden vanish vanished";
    case VerbKind::anything:
      return "sehen sieht gesehen see saw,finden findet gefunden find found,hören hört gehört hear "
             "heard,an|sehen sieht gesehen watch watched,"
             "malen malt gemalt paint painted,lieben liebt geliebt love loved,kennen kennt gekannt "
             "know knew,suchen sucht gesucht seek sought,"
             "beobachten beobachtet beobachtet observe observed,fürchten fürchtet gefürchtet fear "
             "feared";
    case VerbKind::thing:
      return "kaufen kauft gekauft buy bought,auf|machen macht gemacht open opened,nehmen nimmt "
             "genommen take took,"
             "tragen trägt getragen carry carried,verkaufen verkauft verkauft sell sold,zu|machen "
             "macht gemacht close closed,"
             "holen holt geholt fetch fetched,verlieren verliert verloren lose lost,machen macht "
             "gemacht make made,"
             "weg|nehmen nimmt genommen remove removed,waschen wäscht gewaschen wash "
             "washed,ab|holen holt geholt collect collected,"
             "brechen bricht gebrochen break broke";
    case VerbKind::being:
      return "treffen trifft getroffen meet met,rufen ruft gerufen call called,besuchen besucht "
             "besucht visit visited,"
             "ein|laden lädt geladen invite invited,jagen jagt gejagt chase chased,an|rufen ruft "
             "gerufen phone phoned,"
             "füttern füttert gefüttert feed fed,begrüßen begrüßt begrüßt greet greeted,küssen "
             "küsst geküsst kiss kissed";
    case VerbKind::giving:
      return "geben gibt gegeben give gave,zeigen zeigt gezeigt show showed,bringen bringt "
             "gebracht bring brought,"
             "schicken schickt geschickt send sent,zurück|geben gibt gegeben return "
             "returned,an|bieten bietet geboten offer offered";
    case VerbKind::saying:
      return "sagen sagt gesagt say said,glauben glaubt geglaubt believe believed,hoffen hofft "
             "gehofft hope hoped,"
             "denken denkt gedacht think thought,vergessen vergisst vergessen forget forgot";
  }
  return {};
}

template <class T, class Make>
std::vector<T> all_of(std::string_view text, Make make) {
  std::vector<T> out;
  for (const Words& entry : entries(text)) out.push_back(make(entry));
  return out;
}

std::vector<Word> words(std::string_view text) {
  return all_of<Word>(text, [](const Words& w) { return Word{w[0], w[1]}; });
}

}  // namespace

const std::vector<Noun>& nouns(NounKind kind) {
  static const auto all = [] {
    std::array<std::vector<Noun>, 4> by_kind;
    for (size_t k = 0; k < by_kind.size(); ++k)
      by_kind[k] = all_of<Noun>(noun_entries(static_cast<NounKind>(k)), noun_of);
    return by_kind;
  }();
  return all[static_cast<size_t>(kind)];
}

const std::vector<Verb>& verbs(VerbKind kind) {
  static const auto all = [] {
    std::array<std::vector<Verb>, 6> by_kind;
    for (size_t k = 0; k < by_kind.size(); ++k)
      by_kind[k] = all_of<Verb>(verb_entries(static_cast<VerbKind>(k)), verb_of);
    return by_kind;
  }();
  return all[static_cast<size_t>(kind)];
}

const std::vector<Modifier>& modifiers() {
  static const auto all = all_of<Modifier>(
      "garten garden,küchen kitchen,holz wood,schul school,wald forest,stein stone,stadt "
      "city,winter winter,gold gold,dorf village,"
      "sommer summer,papier paper,berg mountain,glas glass,eisen iron,insel island",
      [](const Words& w) {
        return Modifier{w[0], w[1]};
      });
  return all;
}

const std::vector<Modal>& modals() {
  static const std::vector<Modal> all = {{"will", "wollen", "wants to", "want to"},
                                         {"kann", "können", "can", "can"},
                                         {"muss", "müssen", "must", "must"},
                                         {"wird", "werden", "will", "will"},
                                         {"soll", "sollen", "should", "should"}};
  return all;
}

const std::vector<Word>& adjectives() {
  static const auto all = words(
      "klein small,alt old,groß big,neu new,schön beautiful,jung young,rot red,schwarz black,weiß "
      "white,freundlich friendly,blau blue,"
      "grün green,reich rich,arm poor,stark strong,schnell fast,ruhig quiet,hässlich ugly,berühmt "
      "famous,seltsam odd,braun brown,"
      "kalt cold,warm warm,klug clever,fremd unknown");
  return all;
}

const std::vector<std::string>& names() {
  static const auto all =
      words_of("anna peter maria paul emma hugo laura felix clara otto julia max");
  return all;
}

const std::vector<Word>& time_adverbs(bool perfect) {
  static const auto
      past = words("gestern yesterday,einmal once,damals then"),
      other = words("heute today,jetzt now,oft often,bald soon,manchmal sometimes,täglich daily");
  return perfect ? past : other;
}

const std::vector<Word>& conjunctions() {
  static const auto all =
      words("weil because,wenn when,während while,obwohl although,bevor before");
  return all;
}

const std::vector<Word>& prepositions() {
  static const auto all = words("in in,hinter behind,neben beside,bei near");
  return all;
}

}  // namespace nine::pairs
