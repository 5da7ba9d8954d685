package states

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Each calls visit with every image that a crash at a point may leave, until it returns
// false. Images that differ in nothing that a reader looks at can come more than once.
func (t *Trace) Each(system System, point int, visit func(*Image) bool) {
	c := t.crashAt(system, point)
	var answers, limits []int
	for {
		image, questions := c.image(answers)
		limits = questions
		answers = append(answers, make([]int, len(limits)-len(answers))...)
		if !visit(image) {
			return
		}
		last := len(answers) - 1
		for last >= 0 && answers[last]+1 == limits[last] {
			last--
		}
		if last < 0 {
			return
		}
		answers = answers[:last+1]
		answers[last]++
	}
}

// Sample is Each for a number of images with random answers.
func (t *Trace) Sample(system System, point, number int, random *rand.Rand, visit func(*Image)) {
	c := t.crashAt(system, point)
	for range number {
		image, _ := c.walk(func(_, count int) int { return random.IntN(count) })
		visit(image)
	}
}

// image reads an image with the given answers to the questions with several ones, and the
// first answer to further questions. It returns the number of answers to each.
func (c *crash) image(answers []int) (*Image, []int) {
	return c.walk(func(question, _ int) int {
		if question < len(answers) {
			return answers[question]
		}
		return 0
	})
}

// walk reads an image. It returns the number of answers to each question with several ones;
// answer gives one of them, once for each.
func (c *crash) walk(answer func(question, answers int) int) (*Image, []int) {
	var limits, given []int
	known := map[slot]int{}
	r := &reader{crash: c, image: &Image{IsReported: c.point >= c.reported, trace: c.Trace}, files: map[int]Entry{}}
	r.ask = func(question slot, count int) int {
		if count == 1 {
			return 0
		}
		if _, found := known[question]; !found {
			known[question] = answer(len(limits), count)
			limits, given = append(limits, count), append(given, known[question])
		}
		return known[question]
	}
	r.visit(".", 1, []int{1})
	r.image.Number = number(c.system, c.point, given)
	return r.image, limits
}

func number(system System, point int, answers []int) string {
	texts := make([]string, len(answers))
	for i, answer := range answers {
		texts[i] = strconv.Itoa(answer)
	}
	return fmt.Sprintf("%s:%d:%s", system, point, strings.Join(texts, "."))
}

// Image returns the image of a number.
func (t *Trace) Image(number string) (*Image, error) {
	parts := strings.Split(number, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is no number of a state", number)
	}
	for _, system := range Systems {
		if system.String() != parts[0] {
			continue
		}
		point, err := strconv.Atoi(parts[1])
		if err != nil || point < 0 || point >= t.Points() {
			return nil, fmt.Errorf("%q names no point of a trace of %d points", number, t.Points())
		}
		var answers []int
		for text := range strings.FieldsFuncSeq(parts[2], func(r rune) bool { return r == '.' }) {
			answer, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
		image, _ := t.crashAt(system, point).image(answers)
		return image, nil
	}
	return nil, fmt.Errorf("%q names no kind of file system", number)
}
