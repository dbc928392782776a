//! A part of a JPEG, or a smaller one, is read as from the whole image.
#![cfg(feature = "images")]

use penstock_codec::image::{self, JpegOptions, Options, Reader};
use penstock_data::{DType, Tensor};

const HEIGHT: usize = 150;
const WIDTH: usize = 93;

fn contents(channels: usize, chroma_downsampling: bool, progressive: bool) -> Vec<u8> {
    let pixels: Vec<u8> = (0..HEIGHT * WIDTH * channels)
        .map(|i| {
            let (y, x, c) = (i / channels / WIDTH, i / channels % WIDTH, i % channels);
            (128.0 + 60.0 * (x as f64 / 25.0 + c as f64).sin() + 60.0 * (y as f64 / 30.0).cos()) as u8
        })
        .collect();
    let options = JpegOptions {
        quality: 90,
        progressive,
        optimize_size: false,
        chroma_downsampling,
        centimetres: false,
        density: [300, 300],
        xmp: "",
    };
    image::encode_jpeg(&pixels, [HEIGHT, WIDTH, channels], &options).expect("a JPEG")
}

fn read(contents: &[u8], reader: Reader, channels: usize, ratio: usize) -> Tensor {
    image::decode(contents, &Options { reader, channels, dtype: DType::U8, ratio, recover: false }).expect("an image")
}

#[test]
fn a_part_is_that_of_the_whole_image() {
    for (channels, downsampling, progressive) in
        [(3, true, false), (3, false, false), (1, true, false), (3, true, true)]
    {
        let contents = contents(channels, downsampling, progressive);
        let whole = read(&contents, Reader::Jpeg, 0, 1);
        let whole = whole.as_slice::<u8>();
        for [top, left, rows, columns] in
            [[0, 0, 1, 1], [3, 5, 20, 40], [15, 0, 1, 93], [16, 92, 32, 1], [140, 1, 10, 9]]
        {
            let window = [top, left, rows, columns].map(|n| n as i64);
            let part = read(&contents, Reader::CropJpeg(window), 0, 1);
            assert_eq!(part.dims(), [rows, columns, channels]);
            let wanted: Vec<u8> = (top..top + rows)
                .flat_map(|y| &whole[(y * WIDTH + left) * channels..][..columns * channels])
                .copied()
                .collect();
            assert_eq!(part.as_slice::<u8>(), wanted, "{window:?} {downsampling} {progressive}");
        }
    }
}

#[test]
fn a_smaller_image_has_the_means_of_squares() {
    for (channels, wanted) in [(3, 3), (3, 1), (1, 1), (1, 3)] {
        let contents = contents(channels, true, false);
        let whole = read(&contents, Reader::Jpeg, wanted, 1);
        let whole = whole.as_slice::<u8>();
        for ratio in [2, 4, 8] {
            let small = read(&contents, Reader::Jpeg, wanted, ratio);
            let (height, width) = (HEIGHT.div_ceil(ratio), WIDTH.div_ceil(ratio));
            assert_eq!(small.dims(), [height, width, wanted]);
            // Squares at the edges are filled up by what the file has there.
            for (y, x, c) in (0..HEIGHT / ratio).flat_map(|y| (0..WIDTH / ratio).map(move |x| (y, x, (x + y) % wanted)))
            {
                let sum: usize = (0..ratio * ratio)
                    .map(|i| usize::from(whole[((y * ratio + i / ratio) * WIDTH + x * ratio + i % ratio) * wanted + c]))
                    .sum();
                let found = small.as_slice::<u8>()[(y * width + x) * wanted + c];
                let mean = sum as f64 / (ratio * ratio) as f64;
                assert!((f64::from(found) - mean).abs() < 12.0, "{ratio} {y} {x} {c}: {found}, not {mean}");
            }
        }
    }
}
