//! Which script each code point belongs to, by the tables of Unicode in `regex-syntax`.

use penstock_data::Result;

/// The scripts that have code points, by the numbers that ICU gives them.
#[cfg(feature = "text")]
#[rustfmt::skip]
const NAMES: &[(i32, &str)] = &[
    (0, "Common"), (1, "Inherited"), (2, "Arabic"), (3, "Armenian"), (4, "Bengali"), (5, "Bopomofo"), (6, "Cherokee"),
    (7, "Coptic"), (8, "Cyrillic"), (9, "Deseret"), (10, "Devanagari"), (11, "Ethiopic"), (12, "Georgian"),
    (13, "Gothic"), (14, "Greek"), (15, "Gujarati"), (16, "Gurmukhi"), (17, "Han"), (18, "Hangul"), (19, "Hebrew"),
    (20, "Hiragana"), (21, "Kannada"), (22, "Katakana"), (23, "Khmer"), (24, "Lao"), (25, "Latin"), (26, "Malayalam"),
    (27, "Mongolian"), (28, "Myanmar"), (29, "Ogham"), (30, "Old_Italic"), (31, "Oriya"), (32, "Runic"),
    (33, "Sinhala"), (34, "Syriac"), (35, "Tamil"), (36, "Telugu"), (37, "Thaana"), (38, "Thai"), (39, "Tibetan"),
    (40, "Canadian_Aboriginal"), (41, "Yi"), (42, "Tagalog"), (43, "Hanunoo"), (44, "Buhid"), (45, "Tagbanwa"),
    (46, "Braille"), (47, "Cypriot"), (48, "Limbu"), (49, "Linear_B"), (50, "Osmanya"), (51, "Shavian"),
    (52, "Tai_Le"), (53, "Ugaritic"), (55, "Buginese"), (56, "Glagolitic"), (57, "Kharoshthi"), (58, "Syloti_Nagri"),
    (59, "New_Tai_Lue"), (60, "Tifinagh"), (61, "Old_Persian"), (62, "Balinese"), (63, "Batak"), (65, "Brahmi"),
    (66, "Cham"), (71, "Egyptian_Hieroglyphs"), (75, "Pahawh_Hmong"), (76, "Old_Hungarian"), (78, "Javanese"),
    (79, "Kayah_Li"), (82, "Lepcha"), (83, "Linear_A"), (84, "Mandaic"), (86, "Meroitic_Hieroglyphs"), (87, "Nko"),
    (88, "Old_Turkic"), (89, "Old_Permic"), (90, "Phags_Pa"), (91, "Phoenician"), (92, "Miao"), (99, "Vai"),
    (101, "Cuneiform"), (104, "Carian"), (106, "Tai_Tham"), (107, "Lycian"), (108, "Lydian"), (109, "Ol_Chiki"),
    (110, "Rejang"), (111, "Saurashtra"), (112, "Sign_Writing"), (113, "Sundanese"), (115, "Meetei_Mayek"),
    (116, "Imperial_Aramaic"), (117, "Avestan"), (118, "Chakma"), (120, "Kaithi"), (121, "Manichaean"),
    (122, "Inscriptional_Pahlavi"), (123, "Psalter_Pahlavi"), (125, "Inscriptional_Parthian"), (126, "Samaritan"),
    (127, "Tai_Viet"), (130, "Bamum"), (131, "Lisu"), (133, "Old_South_Arabian"), (134, "Bassa_Vah"),
    (135, "Duployan"), (136, "Elbasan"), (137, "Grantha"), (140, "Mende_Kikakui"), (141, "Meroitic_Cursive"),
    (142, "Old_North_Arabian"), (143, "Nabataean"), (144, "Palmyrene"), (145, "Khudawadi"), (146, "Warang_Citi"),
    (149, "Mro"), (150, "Nushu"), (151, "Sharada"), (152, "Sora_Sompeng"), (153, "Takri"), (154, "Tangut"),
    (156, "Anatolian_Hieroglyphs"), (157, "Khojki"), (158, "Tirhuta"), (159, "Caucasian_Albanian"), (160, "Mahajani"),
    (161, "Ahom"), (162, "Hatran"), (163, "Modi"), (164, "Multani"), (165, "Pau_Cin_Hau"), (166, "Siddham"),
    (167, "Adlam"), (168, "Bhaiksuki"), (169, "Marchen"), (170, "Newa"), (171, "Osage"), (175, "Masaram_Gondi"),
    (176, "Soyombo"), (177, "Zanabazar_Square"), (178, "Dogra"), (179, "Gunjala_Gondi"), (180, "Makasar"),
    (181, "Medefaidrin"), (182, "Hanifi_Rohingya"), (183, "Sogdian"), (184, "Old_Sogdian"), (185, "Elymaic"),
    (186, "Nyiakeng_Puachue_Hmong"), (187, "Nandinagari"), (188, "Wancho"), (189, "Chorasmian"), (190, "Dives_Akuru"),
    (191, "Khitan_Small_Script"), (192, "Yezidi"), (193, "Cypro_Minoan"), (194, "Old_Uyghur"), (195, "Tangsa"),
    (196, "Toto"), (197, "Vithkuqi"), (198, "Kawi"), (199, "Nag_Mundari"), (200, "Nastaliq"), (201, "Garay"),
    (202, "Gurung_Khema"), (203, "Kirat_Rai"), (204, "Ol_Onal"), (205, "Sunuwar"), (206, "Todhri"),
    (207, "Tulu_Tigalari"), (208, "Beria_Erfe"), (209, "Sidetic"), (210, "Tai_Yo"), (211, "Tolong_Siki"),
];

/// The number of code points that are of no script.
#[cfg(feature = "text")]
const UNKNOWN: i32 = 103;

/// The number that ICU gives to the script of a code point, -1 for a number that is no code point.
#[cfg(feature = "text")]
pub(crate) fn script(point: i32) -> Result<i32> {
    let Some(point) = u32::try_from(point).ok().filter(|&p| p <= 0x10_ffff) else { return Ok(-1) };
    let ranges = ranges();
    let at = ranges.partition_point(|r| r.1 < point);
    Ok(ranges.get(at).filter(|r| r.0 <= point).map_or(UNKNOWN, |r| r.2))
}

/// An error: there are no tables.
#[cfg(not(feature = "text"))]
pub(crate) fn script(_: i32) -> Result<i32> {
    Err(penstock_data::Error::unimplemented(
        "this program is built without tables of scripts, the feature 'text' of Penstock",
    ))
}

/// The first and last code point of each stretch of one script, with its number, in order.
#[cfg(feature = "text")]
fn ranges() -> &'static [(u32, u32, i32)] {
    use std::sync::OnceLock;

    use regex_syntax::hir::{Class, HirKind};

    static RANGES: OnceLock<Vec<(u32, u32, i32)>> = OnceLock::new();
    RANGES.get_or_init(|| {
        let mut out = Vec::new();
        for &(number, name) in NAMES {
            // A script that these tables are too old for has no code points in them.
            let Ok(hir) = regex_syntax::parse(&format!(r"\p{{Script={name}}}")) else { continue };
            if let HirKind::Class(Class::Unicode(class)) = hir.kind() {
                out.extend(class.iter().map(|r| (u32::from(r.start()), u32::from(r.end()), number)));
            }
        }
        out.sort_unstable();
        out
    })
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use super::{NAMES, ranges, script};

    #[test]
    fn known_code_points_have_their_scripts() {
        let of = |c: char| script(c as i32).expect("there are tables");
        assert_eq!(['a', '\u{3b1}', '\u{44f}', '\u{5d0}', '\u{6587}', ' '].map(of), [25, 14, 8, 19, 17, 0]);
        assert_eq!([-1, 0x11_0000, 0x378].map(|n| script(n).expect("there are tables")), [-1, -1, 103]);
    }

    #[test]
    fn stretches_do_not_overlap_and_cover_every_script() {
        assert!(ranges().windows(2).all(|w| w[0].1 < w[1].0));
        let missing: Vec<_> = NAMES.iter().filter(|(n, _)| !ranges().iter().any(|r| r.2 == *n)).collect();
        assert!(missing.len() < 10, "without code points: {missing:?}");
    }
}
